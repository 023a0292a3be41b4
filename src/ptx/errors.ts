import { WarpsmithError } from '../core/errors.ts';

/** The PTX text does not follow the grammar. `line` counts from 1. */
export class PtxSyntaxError extends WarpsmithError {
  readonly line: number;

  constructor(message: string, line: number, lineText: string) {
    super({
      code: 'ptx-syntax',
      message: `PTX line ${line}: ${message}`,
      path: `line ${line}`,
      received: lineText.trim(),
      expected: 'PTX as clang or nvcc write it',
      hint: 'If a compiler wrote this PTX, the parser lacks the form: please report the line.',
    });
    this.name = 'PtxSyntaxError';
    this.line = line;
  }
}

/** Valid PTX that warpsmith does not execute. `line` counts from 1. */
export class UnsupportedPtxError extends WarpsmithError {
  readonly what: string;
  readonly line: number;

  /** @param what The instruction or function as written. */
  constructor(what: string, line: number, reason = 'is not supported', hint?: string) {
    super({
      code: 'unsupported-ptx',
      message: `PTX line ${line}: \`${what}\` ${reason}`,
      path: `line ${line}`,
      received: what,
      hint,
    });
    this.name = 'UnsupportedPtxError';
    this.what = what;
    this.line = line;
  }
}
