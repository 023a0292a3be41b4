import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where each kind of a user's files lies below the home folder, if its variable names no other place. */
const DEFAULTS = {
  XDG_CACHE_HOME: '.cache',
  XDG_CONFIG_HOME: '.config',
  XDG_STATE_HOME: join('.local', 'state'),
} as const;

/** warpsmith's folder for one kind of a user's files, by the XDG Base Directory Specification, which says to ignore relative paths. */
export function xdgFolder(
  variable: keyof typeof DEFAULTS,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const named = environment[variable];
  const base = named !== undefined && isAbsolute(named) ? named : join(homedir(), DEFAULTS[variable]);
  return join(base, 'warpsmith');
}
