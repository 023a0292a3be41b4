import { describe, expect, it } from 'vitest';
import { platformNotice, platformSupport } from '../../../src/app/doctor/platform.ts';

describe('what works on a platform', () => {
  it('is everything on Linux x64, which needs no word', () => {
    expect(platformSupport({ platform: 'linux', arch: 'x64' })).toEqual({ name: 'Linux on x64' });
    expect(platformNotice({ platform: 'linux', arch: 'x64' })).toBeUndefined();
  });

  it.each([
    ['darwin', 'arm64', 'macOS on arm64', 'no NVIDIA GPUs for macOS', 'Apple’s has no NVPTX'],
    ['darwin', 'x64', 'macOS on x64', 'no NVIDIA GPUs for macOS', 'clang 19 or newer'],
    ['linux', 'arm64', 'Linux on arm64', 'tried on Linux x64 only', 'clang 19 or newer'],
    ['win32', 'x64', 'Windows on x64', 'Nothing has been tried', 'WSL 2'],
    ['linux', 'riscv64', 'Linux on riscv64', 'Nothing has been tried', 'Use Linux x64'],
  ])('is said on %s %s', (platform, arch, name, works, needs) => {
    const support = platformSupport({ platform, arch });
    expect(support.name).toBe(name);
    expect(support.limits?.works).toContain(works);
    expect(support.limits?.needs).toContain(needs);
    expect(platformNotice({ platform, arch })).toContain(`this is ${name}. ${support.limits?.needs}`);
  });
});
