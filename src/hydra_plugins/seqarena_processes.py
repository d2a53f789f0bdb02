"""Hydra's launcher of ours, `hydra/launcher=processes`: a fresh process for each job of a multirun.

Hydra finds plugins in the namespace package `hydra_plugins` and imports each at every start, so nothing heavy may be
imported here.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

from seqarena.sweep.naming import job_name
from seqarena.sweep.overrides import for_a_job

OmegaConf.register_new_resolver("job_name", job_name, replace=True)

BASIC = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"


@dataclass
class ProcessesConf:
    """The launcher's node; its values are the options of the same names in conf/train.yaml."""

    _target_: str = "hydra_plugins.seqarena_processes.ProcessLauncher"
    jobs: Any = "${jobs}"
    retry: Any = "${retry}"
    fail_fast: Any = "${fail_fast}"
    time_limit: Any = "${time_limit}"


ConfigStore.instance().store(group="hydra/launcher", name="processes", node=ProcessesConf, provider="seqarena")


class ProcessLauncher(Launcher):
    """Composes every job first, so that what is wrong with one is said before any trains; then runs them."""

    def __init__(self, jobs: Any, retry: Any, fail_fast: Any, time_limit: Any) -> None:
        self._options = {"jobs": jobs, "retry": retry, "fail_fast": fail_fast, "time_limit": time_limit}

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Called by Hydra once."""
        self._context, self._config = hydra_context, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run one batch of jobs; what a sweeper gets back is the validation metric of each."""
        from seqarena.errors import INTERRUPTED, InputError, explained
        from seqarena.sweep.sweep import run_sweep

        about = self._config.hydra
        folder = Path(str(about.sweep.dir)).absolute()
        searching = about.sweeper._target_ != BASIC  # further batches follow, whatever becomes of the jobs of this one
        script = Path(os.environ["SEQARENA_ROOT"]) / f"{about.job.name}.py"
        with explained(InputError):
            composed = [self._composed(list(one), initial_job_idx + n) for n, one in enumerate(job_overrides)]
            asked = {name: (overrides, config, name) for overrides, config, name in composed}
            jobs = list(asked.values()) if searching else composed  # a search may ask twice for the same
            ended, code = run_sweep(folder, script, jobs, self._options, for_a_job(about.overrides.hydra))
        if code and (not searching or code == INTERRUPTED or self._options["fail_fast"]):
            sys.exit(code)
        values = {job.name: value for job, value in ended}
        return [_returned(overrides, values[name]) for overrides, _, name in composed]

    def _composed(self, overrides: list[str], number: int) -> tuple[list[str], DictConfig, str]:
        """The overrides of a job, its config, and its folder's name."""
        config = self._context.config_loader.load_sweep_config(self._config, overrides)
        with open_dict(config):
            config.hydra.job.id = config.hydra.job.num = number
            name = str(config.hydra.sweep.subdir)
            del config["hydra"]
        return overrides, config, name


def _returned(overrides: list[str], value: float) -> JobReturn:
    return JobReturn(overrides=overrides, status=JobStatus.COMPLETED, _return_value=value)
