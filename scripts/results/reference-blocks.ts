import type { Argument, Command } from 'commander';
import { platformSupport } from '../../src/app/doctor/platform.ts';
import { buildProgram } from '../../src/cli/program.ts';
import type { DeviceSpec, Sourced } from '../../src/core/device-spec.ts';
import { INSTRUCTION_CLASSES } from '../../src/core/vocabulary.ts';
import { PATTERNS } from '../../src/diagnosis/patterns/index.ts';
import { RULES } from '../../src/diagnosis/rules/index.ts';
import { DEVICE_SPECS } from '../../src/hardware/device-specs.ts';
import { H200 } from '../../src/hardware/specs/h200.ts';
import { formatFigure } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';

const code = (text: string): string => `\`${text}\``;

/** The command line's grammar, as the program itself holds it. */
export const program = (): Command =>
  buildProgram(
    () => {},
    async () => {},
  ).program;

const argumentText = (argument: Argument): string =>
  argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;

const commandSection = (command: Command): string => {
  const usage = ['warpsmith', command.name(), ...command.registeredArguments.map(argumentText), '[options]'].join(' ');
  const rows = [
    ...command.registeredArguments.map((argument) => [code(argumentText(argument)), argument.description]),
    ...command.options.map((option) => [code(option.flags), option.description]),
  ];
  const table = markdownTable([{ title: 'Argument or option' }, { title: 'Meaning' }], rows);
  return `### ${command.name()}\n\n    ${usage}\n\n${capitalised(command.description())}.\n\n${table}`;
};

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const patterns = (): string =>
  markdownTable(
    [{ title: 'Pattern' }, { title: 'What it does' }, { title: 'Triggered by' }, { title: 'Known from' }],
    PATTERNS.map(({ id, title, triggers, source }) => [code(id), title, triggers.map(code).join(', '), source]),
  );

const rules = (): string =>
  markdownTable(
    [{ title: 'Finding' }, { title: 'Least gain', align: 'right' }, { title: 'Patterns it triggers' }],
    RULES.map(({ id, minimumSpeedup }) => [
      `[${id}](#${id})`,
      `${minimumSpeedup.toFixed(2)}×`,
      PATTERNS.filter(({ triggers }) => triggers.includes(id))
        .map((pattern) => code(pattern.id))
        .join(', '),
    ]),
  );

/** Those that package.json names. */
const platforms = (): string =>
  markdownTable(
    [{ title: 'Platform' }, { title: 'What works' }, { title: 'What it needs' }],
    ['linux', 'darwin'].flatMap((platform) =>
      ['x64', 'arm64'].map((arch) => {
        const { name, limits } = platformSupport({ platform, arch });
        return [name, limits?.works ?? 'Everything: it is tried there.', limits?.needs ?? 'Nothing more.'];
      }),
    ),
  );

const isSourced = (value: unknown): value is Sourced =>
  typeof value === 'object' && value !== null && 'source' in value;

/** The same for every device, so that tables can be compared. */
const FIGURE_ORDER = Object.keys(H200) as readonly (keyof DeviceSpec)[];

const figuresOf = (spec: DeviceSpec): [name: string, figure: Sourced][] =>
  FIGURE_ORDER.flatMap((name): [string, Sourced][] => {
    const value = spec[name];
    if (isSourced(value)) return [[name, value]];
    if (typeof value !== 'object' || name === 'calibration') return [];
    return Object.entries(value as Record<string, Sourced>).map(([inner, figure]) => [`${name}.${inner}`, figure]);
  });

const deviceSpecs = (): string =>
  [...DEVICE_SPECS.values()]
    .map(
      (spec) =>
        `### virtual:${spec.id}: ${spec.name}, ${spec.architecture}\n\n${spec.calibration?.note ?? ''}\n\n` +
        markdownTable(
          [{ title: 'Figure' }, { title: 'Value', align: 'right' }, { title: 'Source' }],
          figuresOf(spec).map(([name, { value, source }]) => [code(name), formatFigure(value), source]),
        ),
    )
    .join('\n\n');

/** Blocks that describe the program, made from the program. */
export const referenceBlocks = (): Record<string, string> => ({
  commands: program()
    .commands.filter((command) => command.name() !== 'help')
    .map(commandSection)
    .join('\n\n'),
  patterns: patterns(),
  platforms: platforms(),
  rules: rules(),
  'device-specs': deviceSpecs(),
  'instruction-classes': INSTRUCTION_CLASSES.map(code).join(', '),
});
