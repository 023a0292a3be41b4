import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** The machine's own; tests that need it are skipped where there is none. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

interface LaunchOptions {
  /** Further arguments of its command line. */
  readonly args?: readonly string[];
  /** Beside the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export const launchChromium = ({ args = [], env = {} }: LaunchOptions = {}): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM!,
    args: [...ARGUMENTS, ...args],
    env: { ...(process.env as Record<string, string>), ...env },
  });
