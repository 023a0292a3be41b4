import { devices } from '../../app/devices.ts';
import { bundledNames } from '../../app/target.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import { SHELLS, type Shell } from '../../core/requests/commands.ts';
import type { RequestOf } from '../../core/requests/request.ts';
import { bashScript } from '../completion/bash.ts';
import { fishScript } from '../completion/fish.ts';
import { type Grammar, grammarOf } from '../completion/grammar.ts';
import { zshScript } from '../completion/zsh.ts';
import type { Run } from '../context.ts';
import { printJson } from '../output.ts';

const SCRIPTS: Readonly<Record<Shell, (grammar: Grammar) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function refuseOtherShell(shell: string): void {
  if (Object.hasOwn(SCRIPTS, shell)) return;
  throw new WarpsmithError({
    code: 'unknown-shell',
    message: `There is no completion for ${shell}.`,
    path: '<shell>',
    received: shell,
    expected: `one of ${SHELLS.join(', ')}`,
    hint: 'For example: eval "$(warpsmith completion bash)"',
  });
}

export const run: Run<RequestOf<'completion'>> = async ({ shell }, { streams, json }) => {
  refuseOtherShell(shell);
  const grammar = grammarOf({ devices: devices().devices.map(({ id }) => id), bundled: bundledNames() });
  const script = SCRIPTS[shell](grammar);
  if (json) printJson(streams, { schemaVersion: 1, kind: 'completion', shell, script });
  else streams.out.write(script);
  return EXIT.ok;
};
