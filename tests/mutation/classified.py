"""Survivors that were looked at: (file, line of code, token) -> why no test can or need tell them from the original.

"equivalent": nothing changes; "unreachable": no input gets there; "tolerance": a number that may be another within reason.
"""

CLASSIFIED: dict[tuple[str, str, str], str] = {}
