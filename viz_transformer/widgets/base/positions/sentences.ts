// What a table of positions shows, in words.

import { counted, formatNumber, shortNumber } from "../text.ts";
import { angularFrequency, handOf, lookAlikes, type Table, wavelength } from "./hands.ts";

export interface Told {
  table: Table;
  pair: number;
  position: number;
  /** Whether its columns are sines and cosines. */
  isWave: boolean;
}

const LISTED = 4; // positions by their numbers

export const sizesOf = ({ rows, cols }: Table) => `${counted(rows, "position")}, ${cols} dimensions`;

export const two = (value: number) => formatNumber(value, 2);

/** How many tokens: 44.4, and 62,832 without decimals. */
export const tokens = (count: number) =>
  count < 1000 ? count.toFixed(1) : Math.round(count).toLocaleString("en");

/** Such as "2, 5, 7 and 3 more". */
export const listed = (places: readonly number[]) =>
  places.slice(0, LISTED).join(", ") + (places.length > LISTED ? ` and ${places.length - LISTED} more` : "");

/** An angle in degrees, with the digits that tell it from 0. */
export function degrees(angle: number): string {
  const value = (180 * angle) / Math.PI;
  return `${value < 10 ? shortNumber(value, 2) : Math.round(value).toLocaleString("en")}°`;
}

export const angleOf = ({ table, pair, position }: Told) =>
  position * angularFrequency(pair, table.cols, table.base);

export function headlineOfHand(told: Told): string {
  const { table, pair, position, isWave } = told;
  if (isWave) return `At position ${position}, hand ${pair} has turned ${degrees(angleOf(told))}`;
  const [second, first] = handOf(table, pair, position);
  return `At position ${position}, dimensions ${2 * pair} and ${2 * pair + 1} are ${two(first)} and ${two(second)}`;
}

/** How long a turn takes, and where else the hand points nearly the same way. */
export function lineOfHand({ table, pair, position, isWave }: Told): string {
  const alike = lookAlikes(table, position, pair);
  const where =
    alike.length === 0
      ? "nowhere else"
      : alike.length === table.rows - 1
        ? "everywhere else"
        : `at ${listed(alike)}`;
  if (!isWave) return `Nearly the same two numbers occur ${where}.`;
  const turn = tokens(wavelength(pair, table.cols, table.base));
  return `A turn takes ${turn} tokens. It points nearly the same way ${where}.`;
}
