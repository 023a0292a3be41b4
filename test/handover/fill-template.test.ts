import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fillTemplate } from '../../src/handover/fill-template.ts';

const TEMPLATES = new URL('../../src/handover/templates/', import.meta.url);

const units = (values: { folder: string; flags: string }[]) => ({
  problem: 'p',
  device: 'd',
  deviceId: 'i',
  entries: [],
  fallback: 'f',
  fallbackCandidate: 'c',
  units: values,
});

it('values are not looked at for places', () => {
  const text = fillTemplate('dispatch.md', units([{ folder: '@flags@', flags: '@end@ @nothing@ $& $1' }]));
  expect(text).toContain('\nnvcc -c @end@ @nothing@ $& $1 @flags@/@flags@_launch.cu\nnvcc your_program.cu');
});

it('a place without a value is a bug', () => {
  const { problem: _, ...others } = units([]);
  expect(() => fillTemplate('dispatch.md', others)).toThrow('no value for @problem@');
});

it('no template can be filled with nothing, unless it is C++ as it stands', () => {
  const plain = readdirSync(TEMPLATES).filter((file) => {
    try {
      return fillTemplate(file, {}) !== '';
    } catch {
      return false;
    }
  });
  expect(plain.sort()).toEqual(['argument-writers.hpp', 'launching.hpp', 'numbers.hpp', 'tensor-maps.hpp']);
});
