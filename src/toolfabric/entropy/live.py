"""The plans in force in one running host, and the compilation that keeps them current.

Everything is taken as data: a surface is given by whoever knows the registry. The artifact authorizes
nothing by itself: each of its plans is proved again against the live schema before it is in force, and
once more at every application. A damaged artifact is told, and neither used nor overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

from msgspec import UNSET

from toolfabric.entropy.artifact import load_compiled_surface, save_compiled_surface
from toolfabric.entropy.derive import derive_normal_form_plan, proves_normal_form_plan
from toolfabric.entropy.records import ARTIFACT_VERSION, CompiledSurface, NormalFormPlan
from toolfabric.errors import RecordError, StorageError
from toolfabric.protocols import FileOps
from toolfabric.values import Json, JsonObject

__all__ = ["LivePlans", "NormalForms"]


class LivePlans(Mapping[str, NormalFormPlan]):
    """The plans in force by ref; the pipeline reads them, ``NormalForms`` alone changes them."""

    def __init__(self) -> None:
        self._plans: dict[str, NormalFormPlan] = {}

    def __getitem__(self, ref: str) -> NormalFormPlan:
        return self._plans[ref]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plans)

    def __len__(self) -> int:
        return len(self._plans)

    def put_in_force(self, artifact: CompiledSurface | None, surface: JsonObject) -> None:
        """Take exactly those plans of an artifact that the live surface proves; drop all others."""
        if artifact is None:
            self._plans = {}
            return
        schemas = _schemas(surface)
        self._plans = {
            plan.ref: plan
            for plan in artifact.plans
            if plan.ref in schemas and proves_normal_form_plan(plan, schemas[plan.ref])
        }


class NormalForms:
    """Loads, proves, compiles and keeps the plans of one host.

    ``report`` is told, once each, what a person should know: a damaged artifact, one that could not
    be kept. ``repairs`` are the catalog's alias rows, which are counted and authorize nothing.
    """

    def __init__(
        self, agent_dir: Path, *, files: FileOps, report: Callable[[str], None], enabled: bool = True
    ) -> None:
        self.plans = LivePlans()
        self._agent_dir = agent_dir
        self._files = files
        self._report = report
        self._usable = enabled
        self._artifact: CompiledSurface | None = None

    def load(self, surface: JsonObject) -> None:
        """Read the artifact and put in force what the surface proves. Never raises for damage."""
        if not self._usable:
            return
        try:
            self._artifact = load_compiled_surface(self._agent_dir)
        except (RecordError, StorageError) as error:
            self._usable = False
            self._report(f"no normal form is in force: {error}")
            return
        self.plans.put_in_force(self._artifact, surface)

    def surface_changed(self, surface: JsonObject) -> None:
        """Drop at once what a changed surface does not prove any more; ``compile`` finds what is new."""
        if self._usable:
            self.plans.put_in_force(self._artifact, surface)

    async def compile(self, surface: JsonObject) -> None:
        """Derive the surface's plans, put them in force, and keep them in the artifact.

        Other work goes on meanwhile. An artifact that cannot be written is told; its plans are in
        force even so, since they are proved.
        """
        if not self._usable or self._is_compiled(surface):
            return
        from toolfabric.entropy.compile import compile_entropy_surface_async

        outcome = await compile_entropy_surface_async((), surface, artifact=self._artifact)
        if outcome.artifact is UNSET:
            return
        self._artifact = outcome.artifact
        self.plans.put_in_force(self._artifact, surface)
        if outcome.status == "compiled":
            self._keep(self._artifact)

    def _is_compiled(self, surface: JsonObject) -> bool:
        """Whether the artifact holds exactly this surface's plans; told without loading the compiler."""
        if self._artifact is None or self._artifact.version != ARTIFACT_VERSION:
            return False
        derived = (derive_normal_form_plan(ref, schema) for ref, schema in _schemas(surface).items())
        wanted = {plan.ref: plan for plan in derived if plan is not None}
        return {plan.ref: plan for plan in self._artifact.plans} == wanted

    def _keep(self, artifact: CompiledSurface) -> None:
        try:
            save_compiled_surface(self._agent_dir, artifact, files=self._files)
        except (RecordError, StorageError) as error:
            self._report(f"the compiled normal forms could not be kept: {error}")


def _schemas(surface: JsonObject) -> dict[str, Json]:
    actions = cast("list[dict[str, Json]]", surface["actions"])
    return {cast("str", action["ref"]): action["inputSchema"] for action in actions}
