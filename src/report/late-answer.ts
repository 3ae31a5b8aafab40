import type { ReviewVerdict } from './events.ts';

/** The controller's answer to a review that devloop had answered; `totalMs` after it arrived. */
export interface LateAnswer {
  verdict: ReviewVerdict;
  code?: number;
  message?: string;
  warnings?: string[];
  patch?: string[];
  totalMs: number;
}
