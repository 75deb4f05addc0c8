"""The ground of geoveil's maps: coasts, waters, borders, rivers and roads, as data that `geoveil.report` reads."""
