import { WarpsmithError } from '../../core/errors.ts';

/** Options of `init` by which a user says what a file does not. */
export type Answer = 'value' | 'buffer' | 'grid' | 'block' | 'shared' | 'kernel';

/** What a file does not say. `init` asks for it at a terminal; elsewhere it is an error that names the option. */
export class Missing extends WarpsmithError {
  readonly option: Answer;
  /** What the answer is of, e.g. the size `N`; empty for the launch. */
  readonly subject: string;

  constructor(
    {
      option,
      subject,
      ...details
    }: { option: Answer; subject: string; message: string; received: string; expected: string; line?: number },
    file: string,
  ) {
    const example = `--${option} ${EXAMPLES[option](subject)}`;
    super({
      code: 'not-in-the-file',
      message: details.message,
      file,
      path: details.line === undefined ? `--${option}` : `line ${details.line}`,
      received: details.received,
      expected: details.expected,
      hint: `Say it, for example: ${example}`,
    });
    this.option = option;
    this.subject = subject;
  }
}

const EXAMPLES: Readonly<Record<Answer, (subject: string) => string>> = {
  value: (name) => `${name}=1024`,
  buffer: (name) => `${name}=1024`,
  grid: () => '"ceilDiv(N, 256)"',
  block: () => '256',
  shared: () => '0',
  kernel: (name) => name,
};
