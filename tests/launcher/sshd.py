"""Debian's sshd for a test: one daemon a host name, on ports of 127.0.0.1, with keys made for the test."""

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path

from ports import free_ports

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))


def missing():
    """Why there can be no ssh here; empty: there can."""
    for tool, package in ((SSHD, "openssh-server"), (shutil.which("ssh"), "openssh-client")):
        if not tool:
            return f"{package} is not installed"
    return ""


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, stdin=subprocess.DEVNULL)


class Hosts:
    """`names`: hosts that work. Besides: `locked` takes no key of ours, `stranger` has a host key that nobody knows, `shut` does not
    listen."""

    def __init__(self, directory, names):
        self.directory, self.daemons = Path(directory), []
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        for key in ("host", "user", "other"):
            make_key(self.directory / key)
        public = (self.directory / "host.pub").read_text()
        authorized = self.directory / "authorized"
        authorized.write_text((self.directory / "user.pub").read_text())
        authorized.chmod(0o600)
        known, config = "", ""
        names = [*names, "locked", "stranger", "shut"]
        for port, name in enumerate(names, free_ports(len(names))):
            if name != "shut":
                self.daemons.append(self.start(name, port))
            if name != "stranger":
                known += f"{name} {public}"
            config += (f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n  HostKeyAlias {name}\n"
                       f"  IdentityFile {self.directory / ('other' if name == 'locked' else 'user')}\n")
        (self.directory / "known").write_text(known)
        self.config = self.directory / "config"
        self.config.write_text(config + f"Host *\n  User {pwd.getpwuid(os.geteuid()).pw_name}\n  IdentitiesOnly yes\n"
                               f"  UserKnownHostsFile {self.directory / 'known'}\n  GlobalKnownHostsFile /dev/null\n"
                               "  StrictHostKeyChecking yes\n")
        self.ssh = f"ssh -F {self.config}"
        deadline = time.monotonic() + 20
        while subprocess.run([*self.ssh.split(), "-o", "BatchMode=yes", names[0], "true"], stdin=subprocess.DEVNULL,
                             capture_output=True).returncode != 0:
            if time.monotonic() > deadline:
                self.stop()
                raise RuntimeError("sshd does not let us in: " + "".join(log.read_text() for log in self.directory.glob("*.log")))
            time.sleep(0.1)

    def start(self, name, port):
        config = self.directory / f"{name}.sshd"
        config.write_text(f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {self.directory / 'host'}\nPidFile none\nUsePAM no\n"
                          f"AuthorizedKeysFile {self.directory / 'authorized'}\nStrictModes no\nPasswordAuthentication no\n"
                          "KbdInteractiveAuthentication no\nPermitRootLogin yes\nLogLevel VERBOSE\n")
        return subprocess.Popen([SSHD, "-D", "-f", config, "-E", self.directory / f"{name}.log"], stdin=subprocess.DEVNULL)

    def stop(self):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
