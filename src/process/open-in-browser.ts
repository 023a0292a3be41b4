import { spawn } from 'node:child_process';
import { minimalEnvironment } from './minimal-environment.ts';
import { writeTemporaryFile } from './temporary-file.ts';

/** What opens a file in the user's browser, by platform. */
const OPENERS: Partial<Record<NodeJS.Platform, string>> = { linux: 'xdg-open', darwin: 'open' };
/** Of the desktop, which the browser needs. */
const DISPLAYS = ['DISPLAY', 'WAYLAND_DISPLAY'];
const DESKTOP = [...DISPLAYS, 'XDG_RUNTIME_DIR', 'XDG_CURRENT_DESKTOP', 'DBUS_SESSION_BUS_ADDRESS', 'HOME'];

/**
 * Opens an address in the user's browser. Where that can't be done, nothing happens: the address is printed anyway. All users of a
 * machine may read the arguments of a process, so that a secret in the address goes by way of a file.
 *
 * @param folder of `openTemporaryFolder`, which only this user may enter.
 */
export function openInBrowser(url: string, folder: string): void {
  const command = OPENERS[process.platform];
  const hasDesktop = process.platform !== 'linux' || DISPLAYS.some((name) => process.env[name]);
  if (command === undefined || !hasDesktop) return;
  const page = writeTemporaryFile(
    folder,
    'open.html',
    `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`,
  );
  // The browser outlives this process, if it is the first window.
  const child = spawn(command, [page], { env: minimalEnvironment(DESKTOP), stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
