"""The routes: what each takes and gives, from the OpenAPI document, and the pages, from a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from discreet.server.app import application
from discreet.server.datasets import Datasets
from discreet.server.pages import site
from tests.reference.text import cell, escaped, line, table

Document = Mapping[str, Any]
HEAD: Final = """# HTTP

Made from the server's OpenAPI document (`/api/v1/openapi.json`) by `python -m tests.reference`. Requests carry a token
as `Authorization: Bearer …`; bodies are JSON; numbers may be written as texts to be exact (`"0.1"`). Whatever is not
answered is a document of `application/problem+json` with a [code](../guide/codes.md), the reason and the smallest change
that works. How to use it, with snippets that run: [a server](../guide/12-server.md).

"""
TAGS: Final = {"asking": "Asking", "looking": "Looking", "": "Others"}


@cache
def document() -> Document:
    app = application(Datasets([]), workers=1)
    made: Document = app.openapi()
    app.state.app_state.dispatcher.close()
    return made


def operations() -> Iterator[tuple[str, str, Document]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def page() -> str:
    groups: dict[str, list[str]] = {}
    for method, path, operation in operations():
        groups.setdefault((operation.get("tags") or [""])[0], []).append(_operation(method, path, operation))
    parts = [HEAD]
    for tag, told in groups.items():
        parts.append(f"## {TAGS.get(tag, tag.capitalize())}\n")
        parts += told
    parts.append("## Documents\n\nWhat bodies and answers consist of.\n")
    parts += [_schema(name, schema) for name, schema in sorted(document()["components"]["schemas"].items())]
    parts.append("## Pages\n\nFor browsers, with a cookie instead of a token; forms carry a proof against CSRF.\n")
    parts.append(table(["route", "methods"], ([cell(path), methods] for path, methods in pages())))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def pages() -> list[tuple[str, str]]:
    """The routes of pages, which no program needs."""
    methods: dict[str, set[str]] = {}
    for router in (*site.ROUTERS, *site.DESK):
        for route in router.routes:
            path = getattr(route, "path", "")
            methods.setdefault(path, set()).update(set(getattr(route, "methods", ())) - {"HEAD"})
    return sorted((path, ", ".join(sorted(known))) for path, known in methods.items())


def _operation(method: str, path: str, operation: Document) -> str:
    rows = [
        [cell(each["name"]), each["in"], line(each.get("description", ""))] for each in operation.get("parameters", ())
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    parts = [f"### {method} {path}\n", escaped(operation.get("description", "")) + "\n"]
    told = [row for row in rows if row[1] != "path"]
    if told:
        parts.append(table(["parameter", "in", "says"], told))
    if body:
        parts.append(f"Takes {_type(body)}. Gives {_given(operation)}.\n")
    else:
        parts.append(f"Gives {_given(operation)}.\n")
    return "\n".join(parts)


def _given(operation: Document) -> str:
    given = [
        f"{_type(content['schema'])} ({status})"
        if media.endswith("json") and "schema" in content
        else f"`{media}` ({status})"
        for status, response in sorted(operation["responses"].items())
        if status != "default"
        for media, content in response.get("content", {}).items()
    ]
    return " or ".join(dict.fromkeys(given)) or "nothing"


def _schema(name: str, schema: Document) -> str:
    needed = set(schema.get("required", ()))
    rows = [
        [cell(key) + (" *" if key in needed else ""), _type(value), line(value.get("description", ""))]
        for key, value in schema.get("properties", {}).items()
    ]
    told = escaped(" ".join(schema.get("description", "").split()))
    fields = table(["field", "type", "says"], rows) if rows else f"{_type(schema)}\n"
    return f"### {name}\n\n{told}\n\n{fields}".replace("\n\n\n", "\n")


def _type(schema: Document) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "enum" in schema or "const" in schema:
        return " or ".join(cell(str(value)) for value in schema.get("enum", [schema.get("const")]))
    return _plain(schema)


def _plain(schema: Document) -> str:
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {_type(values)}" if isinstance(values, dict) and values else "object"
    return str(kind if isinstance(kind, str) else " or ".join(kind))


def names(told: Iterable[str]) -> set[str]:
    return set(re.findall(r"^### (\w+)$", "\n".join(told), re.MULTILINE))
