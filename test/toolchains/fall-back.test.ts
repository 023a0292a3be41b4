import { describe, expect, it } from 'vitest';
import type { CompileOutcome } from '../../src/core/compiled-code.ts';
import { EXIT, WarpsmithError } from '../../src/core/errors.ts';
import { fallingBack } from '../../src/toolchains/fall-back.ts';
import type { Toolchain } from '../../src/toolchains/toolchain.ts';
import { createFakeToolchain } from '../support/fake-toolchain.ts';
import { candidateOf } from './support.ts';

const failure = (
  status: Extract<CompileOutcome, { ok: false }>['status'],
  message: string,
): Extract<CompileOutcome, { ok: false }> => ({
  ok: false,
  status,
  message,
  diagnostics: [{ severity: 'error', message }],
  elapsedMs: 1,
});

/** A toolchain with a name, that counts its compiles and whether it was closed. */
function named(name: string, outcome?: Parameters<typeof createFakeToolchain>[0], text = '') {
  const fake = createFakeToolchain(outcome, text);
  const calls: string[] = [];
  const toolchain: Toolchain = {
    identity: { name, version: '13.0', path: name },
    async compile(request) {
      calls.push(request.architecture);
      return fake.compile(request);
    },
    async close() {
      calls.push('closed');
    },
  };
  return { toolchain, calls };
}

const request = { candidate: candidateOf({ source: '__global__ void run() {}' }), architecture: 'sm_90' };
const REFUSED = failure('compile-failed', 'identifier "uint" is undefined\nand more');

describe('what one toolchain does not compile', () => {
  it('is compiled by the other, and a note says so and why', async () => {
    const [nvrtc, nvcc] = [named('nvrtc', REFUSED), named('nvcc', undefined, 'machine code')];
    const both = fallingBack(nvrtc.toolchain, 'nvcc', async () => nvcc.toolchain);
    expect(both.identity.name).toBe('nvrtc');
    const outcome = await both.compile(request);
    expect(outcome).toMatchObject({ ok: true, code: { text: 'machine code' } });
    expect(outcome.ok && outcome.code.diagnostics).toEqual([
      { severity: 'note', message: 'compiled by nvcc 13.0, because nvrtc does not: identifier "uint" is undefined' },
    ]);
  });

  it('does not fail again each time, but for another architecture', async () => {
    const [nvrtc, nvcc] = [named('nvrtc', REFUSED), named('nvcc')];
    const both = fallingBack(nvrtc.toolchain, 'nvcc', async () => nvcc.toolchain);
    for (const architecture of ['sm_90', 'sm_90', 'sm_80', 'sm_90'])
      expect((await both.compile({ ...request, architecture })).ok).toBe(true);
    expect(nvrtc.calls).toEqual(['sm_90', 'sm_80']);
    expect(nvcc.calls).toHaveLength(4);
    await both.close!();
    expect([nvrtc.calls.at(-1), nvcc.calls.at(-1)]).toEqual(['closed', 'closed']);
  });

  it('fails as the first says where neither compiles it', async () => {
    const nvcc = named('nvcc', failure('compile-failed', 'nvcc: another text'));
    const both = fallingBack(named('nvrtc', REFUSED).toolchain, 'nvcc', async () => nvcc.toolchain);
    const outcome = await both.compile(request);
    expect(outcome).toMatchObject({ ok: false, status: 'compile-failed', message: REFUSED.message });
    expect(outcome.ok || outcome.diagnostics.map(({ message }) => message)).toEqual([
      REFUSED.message,
      'nvcc does not compile it, either',
    ]);
  });

  it('fails with a note where the other is not installed', async () => {
    const missing = new WarpsmithError({ code: 'no-nvcc', message: 'no nvcc' }, EXIT.deviceOrToolMissing);
    let asked = 0;
    const both = fallingBack(named('nvrtc', REFUSED).toolchain, 'nvcc', async () => {
      asked++;
      throw missing;
    });
    for (let i = 0; i < 2; i++) {
      const outcome = await both.compile(request);
      expect(outcome.ok || outcome.diagnostics.at(-1)!.message).toBe(
        'nvcc may compile more than nvrtc, but is not here',
      );
    }
    expect(asked).toBe(1);
    await both.close!();
  });
});

describe('the other toolchain is not asked', () => {
  const never = async (): Promise<Toolchain> => {
    throw new Error('it was opened');
  };
  it.each(['timed-out', 'invalid', 'unsupported'] as const)('after %s', async (status) => {
    const refusal = failure(status, status);
    expect(await fallingBack(named('nvrtc', refusal).toolchain, 'nvcc', never).compile(request)).toEqual(refusal);
  });

  it('where the first compiles', async () => {
    const both = fallingBack(named('nvrtc', undefined, 'own').toolchain, 'nvcc', never);
    expect(await both.compile(request)).toMatchObject({ ok: true, code: { text: 'own', diagnostics: [] } });
    await both.close!();
  });
});
