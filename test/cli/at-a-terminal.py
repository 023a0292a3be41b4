"""Runs a command at a pseudo-terminal, types `answer` once the command shows `prompt`, and prints what was shown.

usage: at-a-terminal.py PROMPT ANSWER COMMAND ARGUMENT...
The exit code is the command's, or 128 + signal.
"""

import os
import pty
import sys

prompt, answer, command = sys.argv[1].encode(), sys.argv[2].encode(), sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(command[0], command)

shown = b""
typed = False
while True:
    try:
        chunk = os.read(terminal, 65536)
    except OSError:  # Linux says EIO once nobody holds the other end.
        break
    if not chunk:
        break
    shown += chunk
    if not typed and prompt in shown:
        typed = True
        os.write(terminal, answer)

_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
