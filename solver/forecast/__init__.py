"""When jobs will really start, with a stated chance (docs/dev/forecast.md)."""
