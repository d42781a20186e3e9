// Every view and state at three widths, light and dark, for somebody to look at.

import path from "node:path";
import { DESK, LAPTOP, PHONE } from "./bench.mjs";
import { STATES } from "./states.mjs";

export const tests = Object.fromEntries(
  [DESK, LAPTOP, PHONE].flatMap((size) =>
    ["light", "dark"].map((theme) => [
      `${size.width} ${theme}`,
      async (bench) => {
        const how = { size, theme, context: await bench.context(size, theme), pages: new Map() };
        for (const [name, state] of Object.entries(STATES)) {
          const page = await state(bench, how);
          const file = `${name.replaceAll(" ", "-")}-${size.width}-${theme}.png`;
          await page.screenshot({ path: path.join(process.env.SHOTS, file) });
          if (![...how.pages.values()].includes(page)) await (page.context() === how.context ? page : page.context()).close();
        }
      },
    ]),
  ),
);
