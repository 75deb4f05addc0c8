"""Rows on Apache Spark: `Locations(df)` asks about a DataFrame; needs `geoveil[spark]`, Spark 4 and Java 17."""
