"""One plan, many engines: the tree that DuckDB reads, printed in another engine's language by an allow-list.

The canonical text of a query is DuckDB's, and so are its fingerprint and its cost. An engine that is not DuckDB has a
`Dialect`, which is a table of rules, and `rewritten` prints the tree with it. `tree.py` asks DuckDB's own parser for
the tree, `terms.py` says what is known of a printed piece, `expressions.py` and `statements.py` walk.
"""

from discreet.engines.rewriting.dialect import Dialect as Dialect
from discreet.engines.rewriting.statements import Rewritten as Rewritten
from discreet.engines.rewriting.statements import rewritten as rewritten
from discreet.engines.rewriting.tree import UnknownError as UnknownError
