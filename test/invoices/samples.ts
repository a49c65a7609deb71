/** Made-up invoices of different layouts in four languages, with what is on them. */
import { DUTCH } from './dutch.ts';
import { ENGLISH } from './english.ts';
import { FRENCH } from './french.ts';
import { GERMAN } from './german.ts';
import type { Sample } from './paper.ts';

export const SAMPLES: readonly Sample[] = [...ENGLISH, ...GERMAN, ...FRENCH, ...DUTCH];
