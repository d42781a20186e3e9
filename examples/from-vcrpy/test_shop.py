"""What were tests with `@vcr.use_cassette("cassettes/items.yaml")`: without the decorator, under contrail."""

import unittest

import shop


class Shop(unittest.TestCase):
    def test_items(self):
        self.assertEqual(shop.items("tea"), ["Assam", "Sencha"])

    def test_order(self):
        self.assertEqual(shop.order("Assam"), "accepted")


if __name__ == "__main__":
    unittest.main()
