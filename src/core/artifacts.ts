import { z } from 'zod';

/** Stores files that belong to an evaluation, named by their contents. */
export interface ArtifactStore {
  /** Stores `contents` and returns its SHA-256 in hexadecimal. */
  put(contents: string | Uint8Array): string;
}

/** The files that an evaluation keeps, and where. */
export interface KeepRequest {
  readonly store: ArtifactStore;
  /** Also keep machine code as text. This needs a disassembler of the CUDA toolkit and a fraction of a second. */
  readonly sass: boolean;
}

export const artifactsSchema = z
  .strictObject({
    ptx: z.string().describe('Content hash of the PTX.').optional(),
    sass: z.string().describe('Content hash of the machine code as text.').optional(),
    notes: z.array(z.string()).describe('Why something is missing.').optional(),
  })
  .describe('The kept code.');

/** The stored code of an evaluation, by content hashes of the store. */
export type EvaluationArtifacts = z.infer<typeof artifactsSchema>;
