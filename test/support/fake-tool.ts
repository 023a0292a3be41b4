import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a program that stands in for a CUDA tool: `body` is JavaScript that sees `args`, `option(name)` and `fs`. */
export function writeFakeTool(folder: string, name: string, body: string): string {
  const path = join(folder, name);
  const script = `#!${process.execPath}
const fs = require('node:fs');
const args = process.argv.slice(2);
const option = (name) => args.includes(name) ? args[args.indexOf(name) + 1] : undefined;
const target = () => require('node:child_process').spawnSync(process.execPath, args.slice(args.indexOf(process.execPath) + 1));
if (args[0] === '--version') { console.log('Version 2025.3.1.0 (build 1) (public-release)'); process.exit(0); }
${body}
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}
