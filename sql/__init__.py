"""The sql floor: from text to meaning.

    text ──lexer──▶ tokens ──parse_…──▶ statements, with trees inside ──bind_…──▶ typed expressions

* `parse.py` is the way in: `parse(text)`. The grammar is in the `parse_….py` files, one function a rule,
  over the tokens of `lexer.py` and through `cursor.py`. `literals.py` is the fast way of long INSERTs.
* `statements.py` gives a class for every kind of statement, those of the `statements_….py` files too;
  `dialect.py` says of what shape their trees are.
* `catalog.py` knows what objects there are (`entries.py`), as an immutable value; `catalog_rows.py`
  keeps it; `system/` has the relations that describe it.
* `scope.py` and the `bind….py` files give names and operators their meaning, with the types that
  `resolve.py` (overloads), `polymorphic.py` (pseudo-types) and `coerce.py` (casts) find by
  PostgreSQL's rules.
"""
