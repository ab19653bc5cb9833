// SPDX-License-Identifier: Apache-2.0
//
// For programs that import: the same code as for those that require, so that both see one class of each name.
export * from './index.js';
