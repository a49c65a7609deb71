/**
 * Rows come as arrays and are named here: half the time of letting a driver build objects. Each is a copy of one
 * blank row, because an object that grows past a dozen keys one by one becomes a slow dictionary.
 */
export function rowNamer<Row>(columns: readonly string[]): (row: readonly unknown[]) => Row {
  const blank = JSON.parse(
    JSON.stringify(Object.fromEntries(columns.map((column) => [column, null]))),
  ) as object;
  return (row) => {
    const object: Record<string, unknown> = { ...blank };
    for (let index = 0; index < columns.length; index += 1) object[columns[index] as string] = row[index];
    return object as Row;
  };
}
