// The position lab.
export default { render() {} };
