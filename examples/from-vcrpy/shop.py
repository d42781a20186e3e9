"""The client of a shop, as it is in production: nothing in it knows of contrail."""

import json
import os
from urllib.request import Request, urlopen

SHOP = "https://api.shop.example"


def items(tag):
    with urlopen(f"{SHOP}/items?tag={tag}") as answer:
        return [item["name"] for item in json.load(answer)["items"]]


def order(item):
    body = json.dumps({"item": item}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ.get("SHOP_TOKEN", "any")}
    with urlopen(Request(f"{SHOP}/orders", body, headers)) as answer:
        return json.load(answer)["state"]
