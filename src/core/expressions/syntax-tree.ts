/** Source text of the expression language, or a literal number. See expressions/. */
export type Expression = string | number;

/** A parsed expression. `column` counts from 1 in the expression's text. */
export type ExpressionNode =
  | { readonly kind: 'number'; readonly value: number; readonly column: number }
  | { readonly kind: 'name'; readonly name: string; readonly column: number }
  | { readonly kind: 'unary'; readonly operator: string; readonly operand: ExpressionNode; readonly column: number }
  | {
      readonly kind: 'binary';
      readonly operator: string;
      readonly left: ExpressionNode;
      readonly right: ExpressionNode;
      readonly column: number;
    }
  | {
      readonly kind: 'conditional';
      readonly condition: ExpressionNode;
      readonly whenTrue: ExpressionNode;
      readonly whenFalse: ExpressionNode;
      readonly column: number;
    }
  | {
      readonly kind: 'call';
      readonly functionName: string;
      readonly arguments: readonly ExpressionNode[];
      readonly column: number;
    };
