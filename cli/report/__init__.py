"""The report: pictures and tables of a plan, a comparison or a simulation in one HTML file.

From the bottom up: `rows`, `bars`, `loads`, `curves` (what is drawn, as data that knows no HTML),
`data` (all of a report), `page`, `figure`, `terminal` (three ways to draw it), `sources` and
`command` (what people type).
"""
