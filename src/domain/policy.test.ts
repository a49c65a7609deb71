import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_BACKOFF, DEFAULT_CAPS, DEFAULT_LIMITS, resolveLimits, retryDelayMs } from './policy.ts';

const jitter = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('retryDelayMs', () => {
  test('doubles its ceiling from 250 ms up to a minute', () => {
    const highest = [1, 2, 3, 8, 9, 10, 1000].map((failures) => retryDelayMs(failures, 0.999_999, 0));
    expect(highest).toEqual([249, 499, 999, 31_999, 59_999, 59_999, 59_999]);
  });

  test('spreads over the whole range below its ceiling', () => {
    expect([0, 0.25, 0.5, 0.75].map((part) => retryDelayMs(3, part, 0))).toEqual([0, 250, 500, 750]);
  });

  test('is a whole number within its bounds and never earlier than Retry-After', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        jitter,
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        (failures, part, retryAfterMs) => {
          const delayMs = retryDelayMs(failures, part, retryAfterMs);
          expect(Number.isInteger(delayMs)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(retryAfterMs);
          expect(delayMs).toBeLessThanOrEqual(Math.max(DEFAULT_BACKOFF.capMs, Math.ceil(retryAfterMs)));
        },
      ),
    );
  });
});

describe('resolveLimits', () => {
  const caps = DEFAULT_CAPS;

  test('takes the request before the workflow before the defaults', () => {
    const { limits } = resolveLimits({ timeoutMs: 1 }, { timeoutMs: 2, maxAttempts: 5 }, caps, 1000);
    const { deadlineMs } = DEFAULT_LIMITS;
    expect(limits).toEqual({ timeoutMs: 1, maxAttempts: 5, deadlineMs, deadlineAt: 1000 + deadlineMs });
  });

  test('counts what is left until a deadline that is an instant', () => {
    expect(resolveLimits({ deadlineAt: 1500 }, {}, caps, 1000).limits).toMatchObject({
      deadlineAt: 1500,
      deadlineMs: 500,
    });
  });

  test.each([
    [{ timeoutMs: 0 }, '/limits/timeout_ms'],
    [{ timeoutMs: caps.timeoutMs + 1 }, '/limits/timeout_ms'],
    [{ timeoutMs: Number.NaN }, '/limits/timeout_ms'],
    [{ maxAttempts: 0 }, '/limits/max_attempts'],
    [{ maxAttempts: 1.5 }, '/limits/max_attempts'],
    [{ maxAttempts: Number.POSITIVE_INFINITY }, '/limits/max_attempts'],
    [{ deadlineMs: -1 }, '/limits/deadline_ms'],
    [{ deadlineAt: 1000 }, '/limits/deadline_at'],
    [{ deadlineAt: Number.NaN }, '/limits/deadline_at'],
    [{ deadlineAt: 1001 + caps.deadlineMs }, '/limits/deadline_at'],
    [{ deadlineAt: 2000, deadlineMs: 5 }, '/limits/deadline_at'],
  ])('refuses %j and names %s', (requested, path) => {
    const { limits, issues } = resolveLimits(requested, {}, caps, 1000);
    expect(limits).toBeNull();
    expect(issues.map((issue) => issue.path)).toEqual([path]);
  });

  test('lets pass exactly what lies within the caps', () => {
    const upTo = (cap: number) =>
      fc.oneof(fc.integer({ min: -2, max: 3 }), fc.integer({ min: cap - 2, max: cap + 2 }));
    fc.assert(
      fc.property(
        upTo(caps.timeoutMs),
        upTo(caps.maxAttempts),
        upTo(caps.deadlineMs),
        (timeoutMs, maxAttempts, deadlineMs) => {
          const { limits } = resolveLimits({ timeoutMs, maxAttempts, deadlineMs }, {}, caps, 0);
          const inside =
            [timeoutMs, maxAttempts, deadlineMs].every((value) => value >= 1) &&
            timeoutMs <= caps.timeoutMs &&
            maxAttempts <= caps.maxAttempts &&
            deadlineMs <= caps.deadlineMs;
          expect(limits !== null).toBe(inside);
        },
      ),
    );
  });
});
