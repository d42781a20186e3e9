// The client of a shop. CONTRAIL_URL is set by contrail only.
const shop = process.env.CONTRAIL_URL ?? "https://api.shop.example";

export async function items(tag) {
  const answer = await fetch(`${shop}/items?tag=${tag}`);
  return (await answer.json()).items.map((item) => item.name);
}

export async function order(item) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ item }) };
  return (await (await fetch(`${shop}/orders`, options)).json()).state;
}
