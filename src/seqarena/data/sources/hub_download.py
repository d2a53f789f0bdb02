"""Files of a dataset repository on the Hugging Face Hub: from its cache where they are there, else downloaded.

Without a network this says so within three seconds, where huggingface_hub retries for longer. Nothing that is
downloaded is executed. Starting twice at the same time is safe (huggingface_hub locks each file).
"""

import glob
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import huggingface_hub as hub
from huggingface_hub import constants
from huggingface_hub.errors import (
    CachedRepoTreeNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    RevisionResolutionError,
)

from seqarena.errors import InputError

README = "README.md"
PATIENCE = 3.0
"""Seconds that the Hub has to answer before it counts as out of reach."""


class Repository:
    """One dataset repository at one commit. `revision` is a branch, a tag or a commit; None is the main branch.

    What was downloaded once is used again without asking the Hub, also where the branch has moved on since.
    """

    def __init__(self, name: str, revision: str | None) -> None:
        self.name, self.revision = name, revision

    def commit(self) -> str:
        """The commit that the revision stood for when it was first downloaded."""
        with self._explained():
            try:
                return self._resolved(local=True)
            except RevisionResolutionError:
                self._refuse_offline()
                return self._resolved(local=False)

    def names(self, commit: str) -> list[str]:
        """The names of all files of a commit; README.md is downloaded along the way."""
        with self._explained():
            try:
                return self._listed(commit)
            except CachedRepoTreeNotFoundError:
                self._refuse_offline()
                self._snapshot(commit, [README], local=False)
                return self._listed(commit)

    def download(self, commit: str, names: Iterable[str]) -> Path:
        """The folder of a commit, with these files in it."""
        with self._explained():
            try:
                return self._snapshot(commit, names, local=True)
            except LocalEntryNotFoundError:
                self._refuse_offline()
                return self._snapshot(commit, names, local=False)

    def _resolved(self, local: bool) -> str:
        api = hub.HfApi()
        return api.resolve_revision(
            self.name, repo_type="dataset", revision=self.revision, local_files_only=local
        ).resolved

    def _listed(self, commit: str) -> list[str]:
        return [file.path for file in hub.get_cached_repo_tree(self.name, repo_type="dataset", revision=commit)]

    def _snapshot(self, commit: str, names: Iterable[str], local: bool) -> Path:
        exact = [glob.escape(name) for name in names]
        folder = hub.snapshot_download(
            self.name, repo_type="dataset", revision=commit, allow_patterns=exact, local_files_only=local
        )
        return Path(folder)

    def _refuse_offline(self) -> None:
        if constants.HF_HUB_OFFLINE:
            raise self._unreachable("HF_HUB_OFFLINE is set")
        if not _answers(constants.ENDPOINT):
            raise self._unreachable(f"{constants.ENDPOINT} does not answer")

    def _unreachable(self, reason: str) -> InputError:
        revision = "" if self.revision is None else f" --revision {self.revision}"
        return InputError(
            f"{self.name} is not on this machine and cannot be downloaded: {reason}. On a machine with a network run "
            f"`hf download {self.name} --repo-type dataset{revision} --local-dir FOLDER`, copy the folder here and "
            "write data.path=FOLDER"
        )

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what huggingface_hub raises into one message for each case."""
        page = f"{constants.ENDPOINT}/datasets/{self.name}"
        login = "log in with: hf auth login (or set HF_TOKEN)"
        try:
            yield
        except HFValidationError as error:
            raise InputError(f"data.id={self.name} is not a name on the Hub: write owner/name") from error
        except GatedRepoError as error:
            raise InputError(f"{self.name} is gated: accept its conditions at {page}, then {login}") from error
        except RepositoryNotFoundError as error:
            raise InputError(
                f"data.id={self.name}: no such dataset at {constants.ENDPOINT}, or a private one. Check the spelling "
                f"(owner/name); if it is yours, {login}"
            ) from error
        except RevisionNotFoundError as error:
            raise InputError(
                f"data.revision={self.revision}: {self.name} has no such branch, tag or commit; {page}/tree/main lists "
                "them. data.revision=null is the main branch"
            ) from error
        except HfHubHTTPError as error:
            raise InputError(self._refused(error.response.status_code, page, login)) from error
        except (HTTPError, OfflineModeIsEnabled, LocalEntryNotFoundError, RevisionResolutionError) as error:
            raise self._unreachable(str(error).splitlines()[0].rstrip(".")) from error

    def _refused(self, status: int, page: str, login: str) -> str:
        if status in (401, 403):
            return f"{self.name}: the Hub refuses access ({status}). Look at {page}, and {login}"
        return f"{self.name}: the Hub answers with error {status}. Try again later, or give data.path=<folder>"


def _answers(url: str) -> bool:
    """Whether the host of a URL, or the proxy in front of it, takes a connection.

    In a thread, because looking up a name can take longer than any timeout of the socket.
    """
    address = urlsplit(_proxy(url) or url)
    port = address.port or (443 if address.scheme == "https" else 80)
    answers = []

    def knock() -> None:
        with suppress(OSError), socket.create_connection((address.hostname, port), PATIENCE):
            answers.append(True)

    thread = Thread(target=knock, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return bool(answers)


def _proxy(url: str) -> str | None:
    """The proxy that requests for a URL go through, from HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."""
    address, proxies = urlsplit(url), getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if proxy is None or proxy_bypass(address.hostname or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
