"""A workspace, the provider over it, and a short way to call."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from toolfabric._base.validation import compile_schema
from toolfabric.durable.fileops import RealFiles
from toolfabric.protocols import CallContext, FileOps
from toolfabric.providers.pi import PiLimits, PiProvider
from toolfabric.values import Json

Call: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
Make: TypeAlias = Callable[..., PiProvider]


class Caller:
    """Calls actions as the pipeline does: prepared, validated, and the result held to its schema."""

    def __init__(self, provider: PiProvider, cwd: Path) -> None:
        self.provider = provider
        self.context = CallContext(invocation_id="i", call_id="fabric_1", cwd=cwd)

    async def __call__(self, name: str, **args: Json) -> Any:
        spec = self.provider.describe(name)
        assert spec is not None
        prepared = self.provider.prepare_arguments(name, args)
        assert compile_schema(spec.input_schema).violations(prepared) == ()
        result = await self.provider.invoke(name, prepared, self.context)
        assert spec.output_schema is not None
        assert compile_schema(spec.output_schema).violations(result) == ()
        return result


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    """An empty workspace with something beside it."""
    folder = tmp_path / "ws"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def make(ws: Path) -> Iterator[Make]:
    """Makes providers over the workspace, closed at the end."""
    made: list[PiProvider] = []

    def one(
        *,
        files: FileOps | None = None,
        limits: PiLimits | None = None,
        allow_outside: bool = False,
        protected: tuple[Path, ...] = (),
    ) -> PiProvider:
        provider = PiProvider(
            ws, files=files or RealFiles(), limits=limits, allow_outside=allow_outside, protected=protected
        )
        made.append(provider)
        return provider

    yield one
    for provider in made:
        provider.close()


@pytest.fixture
def call(make: Make, ws: Path) -> Caller:
    """Calls an action of an ordinary provider."""
    return Caller(make(), ws)


@pytest.fixture
def caller(make: Make, ws: Path) -> Callable[..., Caller]:
    """Calls actions of a provider made in a special way."""

    def one(**how: Any) -> Caller:
        return Caller(make(**how), ws)

    return one
