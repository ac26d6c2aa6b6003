"""The Python and the curl that ask the same question again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any


def python_code(url: str, dataset: str, sql: str, call: Mapping[str, Any]) -> str:
    """
    >>> print(python_code("http://h", "ward", "SELECT 1", {"epsilon": 0.1, "params": {"d": {"date": "2026-01-02"}}}))
    import discreet
    from datetime import date
    <BLANKLINE>
    ward = discreet.connect("http://h/ward")  # the token is in DISCREET_TOKEN
    ward.query("SELECT 1", epsilon=0.1, params={'d': date.fromisoformat('2026-01-02')})
    """
    written = json.dumps(call)
    kinds = {"date": "date", "timestamp": "datetime"}
    imports = sorted(name for kind, name in kinds.items() if f'{{"{kind}": "' in written)
    exact = ["from fractions import Fraction"] if '{"number": "' in written else []
    dates = [f"from datetime import {', '.join(imports)}"] if imports else []
    name = dataset if dataset.isidentifier() and not iskeyword(dataset) else "dataset"
    is_plain = "\n" in sql and '"""' not in sql and "\\" not in sql and not sql.endswith('"')
    text = f'"""{sql}"""' if is_plain else json.dumps(sql, ensure_ascii=False)
    settings = "".join(f", {each}={_python(value)}" for each, value in call.items())
    return "\n".join(
        [
            "import discreet",
            *dates,
            *exact,
            "",
            f'{name} = discreet.connect("{url}/{dataset}")  # the token is in DISCREET_TOKEN',
            f"{name}.query({text}{settings})",
        ]
    )


def curl(url: str, dataset: str, sql: str, call: Mapping[str, Any]) -> str:
    """
    >>> print(curl("http://h", "ward", "SELECT 1", {"epsilon": 0.1}))
    curl http://h/api/v1/datasets/ward/query \\
      -H "Authorization: Bearer $DISCREET_TOKEN" -H 'Content-Type: application/json' \\
      -d '{"sql": "SELECT 1", "epsilon": 0.1}'
    """
    body = shlex.quote(json.dumps({"sql": sql, **call}))
    return "\n".join(
        [
            f"curl {url}/api/v1/datasets/{dataset}/query \\",
            "  -H \"Authorization: Bearer $DISCREET_TOKEN\" -H 'Content-Type: application/json' \\",
            f"  -d {body}",
        ]
    )


def _python(value: Any) -> str:
    if not isinstance(value, Mapping):
        return repr(value)
    if len(value) == 1:
        kind, text = next(iter(value.items()))
        makers = {"date": "date.fromisoformat", "timestamp": "datetime.fromisoformat", "number": "Fraction"}
        if kind in makers and isinstance(text, str):
            return f"{makers[kind]}({text!r})"
    return "{" + ", ".join(f"{name!r}: {_python(each)}" for name, each in value.items()) + "}"
