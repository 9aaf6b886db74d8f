"""The figures and tables of the papers, one script each.  `leastaction papers` runs them and writes one report.

A script has `make(quick) -> Result` (result.py); contents.py lists them, report.py writes the page.
"""
