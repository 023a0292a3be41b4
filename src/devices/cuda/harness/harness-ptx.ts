import { readFileSync } from 'node:fs';

/** harness.ptx without the comment at its top. */
const withoutComment = (text: string): string => text.replace(/^(?:\/\/.*\n)*/, '');

/** PTX of the trusted device code. What its functions take stands in harness.ts. */
export const HARNESS_PTX = withoutComment(readFileSync(new URL('./harness.ptx', import.meta.url), 'utf8'));
