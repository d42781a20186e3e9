// What were tests with `nock.define(nock.loadDefs("fixtures/shop.json"))`: without nock, under contrail.
import assert from "node:assert/strict";
import { test } from "node:test";

import { items, order } from "./shop.mjs";

test("items", async () => assert.deepEqual(await items("tea"), ["Assam", "Sencha"]));

test("order", async () => assert.equal(await order("Assam"), "accepted"));
