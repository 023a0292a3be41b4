import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { grammarOf } from '../../src/cli/completion/grammar.ts';
import { COMMANDS, SHELLS, type Shell } from '../../src/core/requests/commands.ts';
import { findExecutable } from '../../src/process/find-executable.ts';
import { runCli, runJson, temporaryFolder } from './run-cli.ts';

const folder = temporaryFolder();
const script = (shell: Shell): string => join(folder, `warpsmith.${shell}`);

/** What a shell offers where a line ends, sorted. Each is asked in the folder that holds a problem and a store. */
type Ask = (line: string) => string[];

const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .sort();

const run = (command: string, args: readonly string[], env: Record<string, string> = {}): string =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, ...env }, timeout: 20_000 });

/** The variables that bash sets, and the function that it calls, where Tab is pressed. */
const BASH = `source "$1"; COMP_LINE=$2; COMP_POINT=\${#2}; _warpsmith; printf '%s\\n' "\${COMPREPLY[@]}"`;

/** Read by a shell at a terminal of its own: at the first Tab it asks for every line of a file, and notes what it offers. */
const ZSH_SETUP = `
PROMPT= RPROMPT=
autoload -U compinit; compinit -u -D
source $SCRIPT
compadd() {
  local -a hits
  if (( \${@[(I)-O]} + \${@[(I)-A]} + \${@[(I)-D]} == 0 )); then
    builtin compadd -A hits "$@"
    print -rl -- $hits >>$HITS
  fi
  builtin compadd "$@"
}
ask-all() {
  local line
  for line in "\${(@f)$(<$LINES_ASKED)}"; do
    print -r -- "> $line" >>$HITS
    BUFFER=$line CURSOR=$#line
    zle complete-word
  done
  print -r -- '> done' >>$HITS
}
zle -N ask-all; bindkey '^I' ask-all
print -r -- '> ready' >>$HITS
`;

const ZSH = `
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell "source $SETUP"
wait_for() { for i in {1..600}; do zpty -r -t shell ignored; grep -q "^> $1$" $HITS 2>/dev/null && return; sleep 0.05; done }
wait_for ready; zpty -w -n shell $'\\t'; wait_for 'done'; zpty -d shell
`;

/** What zsh offers for every line of {@link CASES}: one shell is asked for all. */
function askZsh(): Map<string, string[]> {
  const hits = join(folder, 'zsh-hits');
  const [setup, asked] = [join(folder, 'zsh-setup'), join(folder, 'zsh-lines')];
  writeFileSync(setup, ZSH_SETUP);
  writeFileSync(asked, CASES.map(([line]) => line).join('\n'));
  const places = { SCRIPT: script('zsh'), SETUP: setup, HITS: hits, LINES_ASKED: asked };
  run('zsh', ['-f', '-c', ZSH], { ...places, TERM: 'xterm' });
  const parts = readFileSync(hits, 'utf8').split(/^> /m).slice(1);
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), lines(part.slice(part.indexOf('\n')))]));
}
let zsh: Map<string, string[]> | undefined;

const ASK: Readonly<Record<Shell, Ask>> = {
  bash: (line) => lines(run('bash', ['-c', BASH, 'bash', script('bash'), line])),
  fish: (line) =>
    lines(
      run('fish', ['--no-config', '-c', `source $argv[1]; complete -C $argv[2]`, script('fish'), line], {
        HOME: folder,
      }),
    ).map((found) => found.split('\t')[0]!),
  zsh: (line) => {
    zsh ??= askZsh();
    return zsh.get(line) ?? [];
  },
};

beforeAll(async () => {
  for (const shell of SHELLS) writeFileSync(script(shell), (await runCli(['completion', shell])).stdout);
  for (const rung of ['01_plain', '02_tiled']) {
    mkdirSync(join(folder, 'mine', rung), { recursive: true });
    writeFileSync(join(folder, 'mine', rung, 'kernel.json'), '{}');
  }
  for (const name of ['2026-11-22-a', '2026-11-21-b'])
    mkdirSync(join(folder, 'my-store/runs', name), { recursive: true });
  mkdirSync(join(folder, '.warpsmith/runs/2026-11-20-c'), { recursive: true });
  writeFileSync(join(folder, 'some-file.json'), '{}');
});

/** What is asked, what must be offered, and what must not be. */
const CASES: readonly [line: string, offered: readonly string[], not: readonly string[]][] = [
  ['warpsmith ', [...Object.keys(COMMANDS), 'help'], ['--trust', 'some-file.json']],
  ['warpsmith ev', ['evaluate'], ['export']],
  ['warpsmith help opt', ['optimize'], ['export']],
  ['warpsmith evaluate --ca', ['--cache'], ['--trust']],
  ['warpsmith optimize --pat', ['--patience'], ['--cache']],
  ['warpsmith evaluate mine --cache ', ['cold', 'hot'], ['--cache']],
  ['warpsmith optimize mine --strategy ev', ['evolutionary'], ['guided']],
  ['warpsmith optimize --strategy random mi', ['mine/'], ['softmax']],
  ['warpsmith evaluate soft', ['softmax'], ['attention']],
  ['warpsmith evaluate softmax/03', ['softmax/03_online'], ['softmax']],
  ['warpsmith report 2026', ['2026-11-20-c'], ['2026-11-22-a']],
  ['warpsmith report --store my-store ', ['2026-11-21-b', '2026-11-22-a', 'latest'], ['2026-11-20-c']],
  ['warpsmith dispatch 2026-11-20-c 2026', ['2026-11-20-c'], []],
  ['warpsmith measure mine --kernel 02', ['02_tiled'], ['01_plain']],
  ['warpsmith report --output some', ['some-file.json'], []],
  ['warpsmith completion ', SHELLS, []],
];

/** Whether a folder ends in a slash is each shell's own affair. */
const bare = (offered: readonly string[]): string[] => offered.map((text) => text.replace(/\/$/, ''));

describe.each(SHELLS)('completion in %s', (shell) => {
  const isHere = findExecutable(shell) !== undefined;
  if (!isHere) console.warn(`${shell} is not installed: its completion is not tested here`);

  test.skipIf(!isHere)('the script has no error of syntax', () => {
    expect(() => run(shell, ['-n', script(shell)])).not.toThrow();
  });

  test.skipIf(!isHere).each(CASES)('%s', (line, offered, not) => {
    const found = bare(ASK[shell](line));
    expect(found).toEqual(expect.arrayContaining(bare(offered)));
    for (const other of not) expect(found).not.toContain(other);
  });
});

describe('bash parts words at colons and equals signs, and the script does not', () => {
  test('a device: what follows the colon is offered', () => {
    expect(ASK.bash('warpsmith evaluate mine --device virtual:l')).toEqual(['l4']);
    expect(ASK.bash('warpsmith evaluate mine --device virt')).toContain('virtual:l4');
  });

  test('a value after an equals sign', () => {
    expect(ASK.bash('warpsmith evaluate mine --cache=')).toEqual(['cold', 'hot']);
    expect(ASK.bash('warpsmith report --store=my-store 2026')).toEqual(['2026-11-21-b', '2026-11-22-a']);
  });

  test('places with spaces stay whole', () => {
    mkdirSync(join(folder, 'a folder'), { recursive: true });
    expect(ASK.bash('warpsmith check a')).toEqual(['a folder', 'attention']);
  });
});

test('nothing of the grammar is left out, and every path says what completes it', () => {
  const { commands } = grammarOf({ devices: [], bundled: [] });
  expect(commands.map(({ name }) => name)).toEqual([...Object.keys(COMMANDS), 'help']);
  const paths = commands.flatMap(({ name, options }) =>
    options.flatMap(({ long, value }) =>
      value && /^(?:file|folder)$/.test(value.name) ? [{ option: `${name} ${long}`, offer: value.offer }] : [],
    ),
  );
  expect(paths.length).toBeGreaterThan(10);
  for (const { option, offer } of paths) expect(['file', 'folder'], option).toContain(offer);
});

test('another shell is an error that names those there are', async () => {
  const { code, json } = await runJson(['completion', 'tcsh']);
  expect({ code, error: json.error }).toMatchObject({
    code: 2,
    error: { code: 'unknown-shell', expected: 'one of bash, zsh, fish' },
  });
});
