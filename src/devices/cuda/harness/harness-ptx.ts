import { readFileSync } from 'node:fs';

/** harness.ptx without the comment at its top. */
const withoutComment = (text: string): string => text.replace(/^(?:\/\/.*\n)*/, '');

/** PTX of the trusted device code. harness.ts describes the parameters of its functions. */
export const HARNESS_PTX = withoutComment(readFileSync(new URL('./harness.ptx', import.meta.url), 'utf8'));
