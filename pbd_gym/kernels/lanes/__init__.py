"""Numbers with one value for each environment of a group, and C++ on them."""
