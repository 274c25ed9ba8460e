"""Access to the service: loopback, a token, or a user named by a trusted proxy."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...model.errors import InputError, Problem
from ...model.formats.reading import opened

#: Characters of a token at least.
MIN_TOKEN = 16
#: Bytes of a token file at most.
_LONGEST = 4096
#: Name of the cookie that a browser gets for a token.
COOKIE = "slotwise"
#: What a header may be called.
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
#: What a user may be called, as a proxy names it.
_USER = re.compile(r"[^\s\x00-\x1f\x7f]{1,64}")
#: Names under which a browser reaches a service of its own machine.
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks, and which jobs they see."""

    #: Name of the user whose jobs are shown alone; None: all jobs.
    user: str | None = None

    def sees(self, user: str) -> bool:
        """Whether the jobs of a user are shown."""
        return self.user is None or self.user == user


@dataclass(frozen=True, slots=True)
class Denied:
    """A request without access: its status and why."""

    status: int
    why: str


@dataclass(frozen=True, slots=True)
class Access:
    """The rules by which requests have access."""

    #: Whether only this machine reaches the service.
    is_local: bool
    #: The token, None if none is needed.
    token: bytes | None = None
    #: Header in which a trusted proxy names the user, in small letters; "" if there is none.
    header: str = ""

    @classmethod
    def of(cls, host: str, token_file: Path | None, header: str | None) -> Access:
        """Return the rules of the options; raise InputError if they are not safe."""
        is_local = is_loopback(host)
        if header is not None and not _HEADER.fullmatch(header):
            wrong = f"is not a valid HTTP header name: {header!r}; example: X-Forwarded-User"
            raise InputError([Problem(wrong, "--trust-user-header")])
        if not is_local and token_file is None and header is None:
            wrong = (
                f"{host!r} is reachable from other machines: give --token-file FILE or "
                "--trust-user-header NAME, or use 127.0.0.1"
            )
            raise InputError([Problem(wrong, "--host")])
        token = None if token_file is None else read_token(token_file)
        return cls(is_local, token, (header or "").lower())

    def viewer(self, headers: Mapping[str, str], cookie: str) -> Viewer | Denied:
        """Return who asks. headers: of the request, by small names. cookie: its value, or ""."""
        if self.token is None and not self.header and not self._is_local_name(headers):
            return Denied(421, "this service answers on its own machine only, as localhost")
        if self.token is not None and not self._has_token(headers, cookie):
            return Denied(401, "give the token: Authorization: Bearer TOKEN, or sign in")
        if not self.header:
            return Viewer()
        user = headers.get(self.header, "")
        if user and not _USER.fullmatch(user):
            return Denied(400, "the header of the proxy names no user")
        if user:
            return Viewer(user)
        return Viewer() if self.token is not None else Denied(403, "the proxy names no user")

    def _has_token(self, headers: Mapping[str, str], cookie: str) -> bool:
        assert self.token is not None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.is_token(given.strip())
        return hmac.compare_digest(cookie.encode(), self.cookie().encode())

    def is_token(self, given: str) -> bool:
        """Whether a text is the token; takes the same time for every wrong one."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token)

    def cookie(self) -> str:
        """Return the value of the cookie for the token, which the token does not follow from."""
        return hmac.new(self.token or b"", b"slotwise cookie", hashlib.sha256).hexdigest()

    def _is_local_name(self, headers: Mapping[str, str]) -> bool:
        """Whether the request names this machine: a page of another site names itself."""
        return re.sub(r":\d+$", "", headers.get("host", "")) in _LOCAL_NAMES

    def notice(self) -> str:
        """Return a sentence on who has access, said at the start."""
        if self.token is not None and self.header:
            return f"a token is needed; {self.header} names the user, who sees only own jobs"
        if self.token is not None:
            return "a token is needed, and shows all jobs"
        if self.header:
            return (
                f"{self.header} names the user, who sees only own jobs; any client that reaches "
                "this port can name any user, so let only the proxy reach it"
            )
        return "all users of this machine see all jobs"


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(path: Path) -> bytes:
    """Return the token of a file; raise InputError if it is short, or others may read the file."""
    with opened(path) as file:
        mode = os.fstat(file.fileno()).st_mode
        token = file.read(_LONGEST + 1).strip()
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        wrong = f"is readable by other users (mode {stat.S_IMODE(mode):o}): run chmod 600 {path}"
        raise InputError([Problem(wrong, str(path))])
    if not MIN_TOKEN <= len(token) <= _LONGEST or not token.isascii() or len(token.split()) != 1:
        wrong = f"the token must be one word of {MIN_TOKEN} or more ASCII characters"
        raise InputError([Problem(wrong, str(path))])
    return token
