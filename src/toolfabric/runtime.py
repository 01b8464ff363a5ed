"""The one composition root: configuration becomes objects here, and nowhere else.

``Fabric`` is the embedded host. Everything is closed in the reverse of the order in which it was
opened, however the block ends.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Generator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from toolfabric._base.clock import SystemClock, SystemIds
from toolfabric._base.supervise import start
from toolfabric.config.load import agent_folder, environment, load_config
from toolfabric.config.records import Config, KernelName, Loaded
from toolfabric.durable.fileops import RealFiles
from toolfabric.entropy.live import NormalForms
from toolfabric.errors import ConfigError, KernelError, MountError, StorageError
from toolfabric.execution.arguments import parse_arguments
from toolfabric.execution.discovery import answer_discovery
from toolfabric.execution.execute import Executor, ExecutorOptions
from toolfabric.execution.journal import Journal, NoJournal, SessionJournal
from toolfabric.execution.records import Activity, ExecutionResult, Observer
from toolfabric.execution.results import OutputFolder
from toolfabric.kernels.python_host import PythonKernel
from toolfabric.pipeline.records import Services
from toolfabric.pipeline.run import Pipeline
from toolfabric.plugins.manager import load_providers
from toolfabric.policy.approvers import NobodyToAsk
from toolfabric.protocols import Approver, Clock, FileOps, Guard, Ids, Kernel, Limits, Provider
from toolfabric.providers.pi import PiProvider
from toolfabric.registry.aliases import AliasTable
from toolfabric.registry.bindings import Binding
from toolfabric.registry.registry import Registry
from toolfabric.registry.surface import surface_of
from toolfabric.sessions.paths import session_folder
from toolfabric.sessions.spool import fold_spools
from toolfabric.values import Json, JsonObject, Origin

__all__ = ["ExecutionResult", "Fabric", "Options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a host brings besides configuration. Every default is right for an embedded host.

    ``approver`` is asked where a risk's policy is ``ask``; by default nobody is, and the call is
    refused. ``model`` is ``(provider, model id)`` of whoever writes the programs. ``record`` turns
    session files off for probes. The rest replaces edges of the machine, for tests.
    """

    approver: Approver = field(default_factory=NobodyToAsk)
    model: tuple[str, str] = ("", "")
    record: bool = True
    plugins: bool = True
    guards: tuple[Guard, ...] = ()
    kernel: Kernel | None = None
    files: FileOps = field(default_factory=RealFiles)
    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=SystemIds)


def _ignore(_activity: Activity) -> None:
    """Nobody watches."""


class Fabric:
    """An open host: one workspace, one registry, one session.

    Made by ``Fabric.open`` and used as ``async with``. Its methods belong to the event loop that
    opened it.
    """

    def __init__(self, cwd: Path, loaded: Loaded, options: Options) -> None:
        self._cwd = cwd
        self._loaded = loaded
        self._options = options
        self._registry = Registry(clock=options.clock)
        self._closing = AsyncExitStack()
        self._mounting: list[Mounting] = []
        self._warnings = [str(warning) for warning in loaded.warnings]
        self._forms = NormalForms(
            loaded.agent_dir,
            files=options.files,
            report=self._warnings.append,
            enabled=loaded.config.entropy.enabled,
        )
        self._compiling: asyncio.Task[None] | None = None
        self._compiled_generation = -1
        self._pipeline = Pipeline(_services(loaded.config, self._registry, self._forms, options))
        self._journal = _journal(cwd, loaded, options)
        self._kernel = _kernel(loaded.config, options)
        self._executor = Executor(
            _executor_options(cwd, loaded.config),
            registry=self._registry,
            pipeline=self._pipeline,
            kernel=self._kernel,
            journal=self._journal,
            outputs=OutputFolder(loaded.agent_dir / "outputs", files=options.files),
            clock=options.clock,
            ids=options.ids,
        )

    @classmethod
    def open(
        cls,
        cwd: str | os.PathLike[str],
        config: Config | Mapping[str, Json] | None = None,
        *,
        options: Options | None = None,
    ) -> Self:
        """Prepare a host for a workspace; ``async with`` opens it.

        Args:
            cwd: The workspace, a folder that exists.
            config: The whole configuration, or a mapping in the form of ``fabric.json`` that goes on
                top of what the machine's files say; by default those files alone.
            options: What the host brings besides.

        Raises:
            ConfigError: The folder does not exist, or a value of the configuration is wrong.
        """
        folder = Path(os.path.realpath(cwd))
        if not folder.is_dir():
            raise ConfigError(f"the workspace {str(cwd)!r} is not a folder that exists")
        chosen = options or Options()
        return cls(folder, _load(folder, config), chosen)

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self._closing.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._closing.aclose()

    @property
    def cwd(self) -> Path:
        """The workspace, without links."""
        return self._cwd

    @property
    def config(self) -> Config:
        """The configuration in force; it does not change while the host is open."""
        return self._loaded.config

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was odd when the host was opened or since, for a person."""
        return (*self._warnings, *self._registry.problems())

    async def execute(
        self,
        code: str,
        *,
        payloads: Mapping[str, str] | None = None,
        result_format: str | None = None,
        observe: Observer = _ignore,
    ) -> ExecutionResult:
        """Run one program to its end; a program that fails is a result, not an exception.

        Raises:
            ValidateError: The arguments do not have their form.
            StorageError: The record cannot be opened; nothing ran.
            KernelError: The sandbox is not installed.
            asyncio.CancelledError: The caller was cancelled; the record is sealed as aborted.
        """
        arguments: JsonObject = {
            "code": code,
            "payloads": None if payloads is None else dict(payloads),
            "resultFormat": result_format,
        }
        return await self.run(arguments, observe=observe)

    async def run(self, arguments: Json, *, observe: Observer = _ignore) -> ExecutionResult:
        """Run one ``fabric_exec`` from its arguments as a model gave them. Raises as ``execute``."""
        await self._ready()
        return await self._executor.execute(parse_arguments(arguments), observe=observe)

    async def call(self, ref: str, args: Json = None) -> Json:
        """Make one call of the operator's own: the same pipeline, an outer invocation of its own.

        Raises:
            CallError: The call was refused or failed.
            StorageError: The record cannot be opened; nothing ran.
        """
        await self._ready()
        return await self._executor.call(ref, args)

    def surface(self) -> JsonObject:
        """The declared surface: ``{version: 1, actions: [{ref, inputSchema}]}``, sorted by ref."""
        return surface_of(self._registry.actions())

    def discover(self, question: str, args: JsonObject) -> Json:
        """Answer ``tools.<question>`` for the operator.

        Raises:
            CallError: No such question, or its arguments do not fit.
        """
        return answer_discovery(self._registry, question, args)

    def providers(self) -> tuple[Binding, ...]:
        """What is mounted."""
        return self._registry.providers()

    def mount(self, provider: Provider, *, origin: Origin = Origin.THIRD_PARTY) -> Mounting:
        """Mount a provider beside the others.

        May be awaited for its binding, and for the reason where it is refused; otherwise it is done
        before the next program or call, and a refusal is raised there.

        Raises (when awaited):
            MountError: The provider or one of its actions is refused; nothing of it was kept.
        """
        mounting = Mounting(start(self._registry.mount(provider, origin=origin)))
        self._mounting.append(mounting)
        return mounting

    async def compiled(self) -> None:
        """Wait until the normal forms of the surface as it is now are in force."""
        await self._ready()
        if self._compiling is not None:
            await asyncio.shield(self._compiling)

    async def _ready(self) -> None:
        """Finish mounting, and see to it that no plan outlives the surface that proved it."""
        waiting, self._mounting = self._mounting, []
        for mounting in waiting:
            await mounting
        generation = self._registry.generation
        if generation != self._compiled_generation:
            self._compiled_generation = generation
            self._forms.surface_changed(self.surface())
            self._compiling = start(self._compile(self._compiling))

    async def _compile(self, before: asyncio.Task[None] | None) -> None:
        """Compile in the background, one surface after the other."""
        if before is not None:
            await before
        await self._forms.compile(self.surface())

    async def _stop_compiling(self) -> None:
        task, self._compiling = self._compiling, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _open(self) -> None:
        self._closing.callback(self._journal.close)
        self._closing.push_async_callback(self._kernel.close)
        self._closing.push_async_callback(self._registry.close)
        self._fold()
        pi = PiProvider(
            self._cwd,
            files=self._options.files,
            allow_outside=self.config.pi.allow_outside,
            protected=(self._loaded.agent_dir,),
        )
        await self._registry.mount(pi, origin=Origin.HOST)
        if self._options.plugins:
            await self._mount_plugins()
        self._closing.push_async_callback(self._stop_compiling)
        self._forms.load(self.surface())
        await self._ready()

    async def _mount_plugins(self) -> None:
        found = load_providers()
        self._warnings += [str(problem) for problem in found.problems]
        for provider in found.providers:
            try:
                await self._registry.mount(provider, origin=Origin.THIRD_PARTY)
            except MountError as error:
                self._warnings.append(f"an installed provider was refused: {error}")

    def _fold(self) -> None:
        """Give executions of hosts that were killed their record."""
        if not self._options.record:
            return
        options = self._options
        try:
            folded = fold_spools(
                session_folder(self._loaded.agent_dir, self._cwd),
                files=options.files,
                clock=options.clock,
                ids=options.ids,
            )
        except StorageError as error:
            self._warnings.append(f"the record of a run that was killed could not be completed: {error}")
            return
        self._warnings += [
            f"a run that was killed is now recorded as aborted in {one.session}" for one in folded
        ]


class Mounting(Awaitable[Binding]):
    """A mount under way; awaiting it gives the binding, or raises why there is none."""

    def __init__(self, task: asyncio.Task[Binding]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, None, Binding]:
        return asyncio.shield(self._task).__await__()


def _load(cwd: Path, config: Config | Mapping[str, Json] | None) -> Loaded:
    environ = environment()
    if isinstance(config, Config):
        return Loaded(config=config, agent_dir=agent_folder(environ)[0])
    return load_config(cwd, environ=environ, overrides=config)


def _services(config: Config, registry: Registry, forms: NormalForms, options: Options) -> Services:
    repairs = AliasTable(config.repairs.rows) if config.repairs.enabled else AliasTable()
    return Services(
        registry=registry,
        clock=options.clock,
        guards=options.guards,
        repairs=repairs,
        plans=forms.plans,
        policy=config.approvals,
        approver=options.approver,
        max_result_bytes=config.executor.max_nested_result_chars,
    )


def _journal(cwd: Path, loaded: Loaded, options: Options) -> Journal:
    if not options.record:
        return NoJournal(ids=options.ids)
    return SessionJournal(
        session_folder(loaded.agent_dir, cwd),
        cwd=cwd,
        files=options.files,
        clock=options.clock,
        ids=options.ids,
        model=options.model,
    )


def _kernel(config: Config, options: Options) -> Kernel:
    if options.kernel is not None:
        return options.kernel
    if config.executor.kernel is not KernelName.PYTHON:
        raise KernelError(
            f"executor.kernel is {str(config.executor.kernel)!r}, which this version has not; "
            'set it to "python"'
        )
    return PythonKernel()


def _executor_options(cwd: Path, config: Config) -> ExecutorOptions:
    executor = config.executor
    return ExecutorOptions(
        cwd=cwd,
        limits=Limits(timeout_ms=executor.timeout_ms, memory_bytes=executor.memory_limit_bytes),
        result_format=executor.result_format,
        result_chars=executor.max_output_chars,
        strict_arguments=executor.strict_arguments,
    )
