import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandBuffers } from '../../../src/core/plan/expand-buffers.ts';
import { encode } from '../../../src/core/rounding.ts';
import {
  elementCountOf,
  firstChangedPaddingByte,
  isDense,
  type Layout,
  multiIndexOf,
  packElements,
  spreadElements,
} from '../../../src/evaluation/launches/layout.ts';
import { toyProblem } from '../../support/toy-problem.ts';

const PADDING = 0xff;

/** Layouts whose axes lie in any order, with gaps after every axis. */
const layouts = fc
  .tuple(
    fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 2 })), { minLength: 1, maxLength: 4 }),
    fc.infiniteStream(fc.nat()),
  )
  .map(([axes, keys]): Layout => {
    const order = axes.map((_, axis) => ({ axis, key: keys.next().value as number })).toSorted((a, b) => a.key - b.key);
    const strides = new Array<number>(axes.length);
    let stride = 1;
    for (const { axis } of order) {
      strides[axis] = stride;
      stride = stride * axes[axis]![0] + axes[axis]![1];
    }
    const shape = axes.map(([extent]) => extent);
    const span = shape.reduce((last, extent, axis) => last + (extent - 1) * strides[axis]!, 1);
    return { dtype: 'i16', shape, strides, bytes: 2 * span };
  });

/** 0, 1, 2, … as packed i16. */
const counting = (layout: Layout): Uint8Array =>
  encode(
    Array.from({ length: elementCountOf(layout) }, (_, i) => i),
    layout.dtype,
  );

describe('a strided layout', () => {
  it('puts every element at Σ index · stride, and padding everywhere else', () => {
    fc.assert(
      fc.property(layouts, (layout) => {
        const bytes = spreadElements(layout, counting(layout), PADDING);
        const elements = new Int16Array(bytes.slice().buffer);
        expect(bytes).toHaveLength(layout.bytes);
        for (let i = 0; i < elementCountOf(layout); i++) {
          const index = multiIndexOf(layout.shape, i);
          expect(elements[index.reduce((sum, position, axis) => sum + position * layout.strides[axis]!, 0)]).toBe(i);
        }
        expect(elements.filter((value) => value === -1)).toHaveLength(elements.length - elementCountOf(layout));
      }),
    );
  });

  it('is packed again without loss', () => {
    fc.assert(
      fc.property(layouts, (layout) => {
        const packed = counting(layout);
        expect(packElements(layout, spreadElements(layout, packed, PADDING))).toEqual(packed);
      }),
    );
  });

  it('shows a changed byte between elements, and no other', () => {
    fc.assert(
      fc.property(layouts, fc.nat(), (layout, random) => {
        const bytes = spreadElements(layout, counting(layout), PADDING);
        expect(firstChangedPaddingByte(layout, bytes, PADDING)).toBe(-1);
        const gaps = [...bytes.keys()].filter((i) => new Int16Array(bytes.slice().buffer)[i >> 1] === -1);
        fc.pre(gaps.length > 0);
        const changed = gaps[random % gaps.length]!;
        expect(firstChangedPaddingByte(layout, bytes.with(changed, 0), PADDING)).toBe(changed);
      }),
    );
  });
});

it('the layout of a declared buffer without strides is dense', () => {
  for (const buffer of expandBuffers(toyProblem().file, { R: 3, C: 17 })) expect(isDense(buffer)).toBe(true);
});

it('a layout with a row pitch, or with its axes swapped, is not dense', () => {
  expect(isDense({ dtype: 'f16', shape: [3, 4], strides: [5, 1], bytes: 2 * 14 })).toBe(false);
  expect(isDense({ dtype: 'f16', shape: [3, 4], strides: [1, 3], bytes: 2 * 12 })).toBe(false);
  expect(isDense({ dtype: 'f16', shape: [1, 4], strides: [99, 1], bytes: 2 * 4 })).toBe(true);
});
