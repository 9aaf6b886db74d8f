"""Functions as syntax trees: what is written out as instructions (straight.py, lanes.py), or read before it is compiled (reading.py).

Of a file of the package it is the text that Python made the function from.  The file may have been edited since, and machine code is kept
under the name of the text that was imported (cache.py).
"""

import ast
import functools
import inspect
import linecache
import textwrap

from .cache import source_as_imported


@functools.cache
def definitions(filename):
    """The functions of a file of the package as it was imported, by name and number of their first lines; {} of other files."""
    text = source_as_imported(filename)
    found = [] if text is None else [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {(node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])): node for node in found}


def definition(function):
    """The function as a syntax tree."""
    code = function.__code__
    as_imported = definitions(code.co_filename).get((code.co_name, code.co_firstlineno))
    if as_imported is not None:
        return as_imported
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    if not lines:
        return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    # generated functions begin in the first column: what is indented less ends them.  `inspect` would read 10^5 lines word by word
    head = next(k for k, line in enumerate(lines) if line.lstrip().startswith("def "))
    indent = len(lines[head]) - len(lines[head].lstrip())
    last = next((k for k, line in enumerate(lines) if k > head and line.strip() and len(line) - len(line.lstrip()) <= indent), len(lines))
    return ast.parse(textwrap.dedent("".join(lines[:last]))).body[0]
