// uPlot is loaded when the first line is drawn.
export { default } from 'uplot';
