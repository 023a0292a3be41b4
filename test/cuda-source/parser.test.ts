import { describe, expect, it } from 'vitest';
import { followHostCode } from '../../src/cuda-source/host-walk.ts';
import { parseBody } from '../../src/cuda-source/parser.ts';
import { readCudaSource } from '../../src/cuda-source/source.ts';
import { tokenize } from '../../src/cuda-source/tokens.ts';

const kindsOf = (text: string): string[] => parseBody(tokenize(text, 'a.cu')).map(({ kind }) => kind);

describe('statements of a function', () => {
  it.each(['if (x)', 'do', 'while (x)'])('takes %s, which ends early, as unknown', (text) => {
    expect(kindsOf(text)).toEqual(['unknown']);
    expect(kindsOf(`{ ${text} } y = 2;`)).toEqual(['block', 'expression']);
  });

  it.each(['constructor', 'toString', 'valueOf'])('takes %s for a name like any other', (name) => {
    expect(kindsOf(`${name}(x);`)).toEqual(['expression']);
    const text = `__global__ void k() {}\nint ${name}(int n) { k<<<n, 1>>>(); return n; }\nint main() { ${name}(2); }`;
    expect(followHostCode(readCudaSource(text, 'a.cu')).events).toHaveLength(1);
  });
});
