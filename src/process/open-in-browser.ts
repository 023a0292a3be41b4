import { tmpdir } from 'node:os';
import { runProcess } from './run-process.ts';

/** What opens a URL in the user's browser, by platform. */
const OPENERS: Partial<Record<NodeJS.Platform, string>> = { linux: 'xdg-open', darwin: 'open' };
/** Of the desktop, which the browser needs. */
const DESKTOP = [
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XDG_RUNTIME_DIR',
  'XDG_CURRENT_DESKTOP',
  'DBUS_SESSION_BUS_ADDRESS',
  'HOME',
];
const LONGEST_MS = 10_000;
const MOST_OUTPUT_BYTES = 4096;

/** Opens a URL in the user's browser. Where that can't be done, nothing happens: the address is printed anyway. */
export async function openInBrowser(url: string): Promise<void> {
  const command = OPENERS[process.platform];
  const hasDesktop = process.platform !== 'linux' || DESKTOP.slice(0, 2).some((name) => process.env[name]);
  if (command === undefined || !hasDesktop) return;
  const { minimalEnvironment } = await import('./minimal-environment.ts');
  await runProcess({
    command,
    args: [url],
    cwd: tmpdir(),
    env: minimalEnvironment(DESKTOP),
    timeoutMs: LONGEST_MS,
    maximumOutputBytes: MOST_OUTPUT_BYTES,
  });
}
