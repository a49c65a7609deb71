import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { iso } from './instant.ts';

const MOST = 8_640_000_000_000_000;

describe('an instant', () => {
  it('is written as JavaScript writes it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -MOST, max: MOST }),
        fc.integer({ min: 0, max: 172_800_000 }),
        (at, later) => {
          expect(iso(at)).toBe(new Date(at).toISOString());
          const next = Math.min(at + later, MOST);
          expect(iso(next)).toBe(new Date(next).toISOString());
        },
      ),
    );
  });

  it('loses what is less than a millisecond', () => {
    for (const at of [1.9, -1.9, 1_800_000_000_000.5]) expect(iso(at)).toBe(new Date(at).toISOString());
  });

  it('that is none is refused', () => {
    expect(() => iso(Number.NaN)).toThrow(RangeError);
    expect(() => iso(2 * MOST)).toThrow(RangeError);
  });
});
