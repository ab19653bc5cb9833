// SPDX-License-Identifier: Apache-2.0

export type OnError = (why: unknown) => void;

/** Tells `onError`, or else warns the process. */
export function report(onError: OnError | undefined, error: unknown): void {
  if (onError) {
    try {
      onError(error);
      return;
    } catch (another) {
      process.emitWarning(another instanceof Error ? another : String(another));
    }
  }
  process.emitWarning(error instanceof Error ? error : String(error));
}
